package headworks.storm.seats;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import java.util.Set;
import java.util.TreeSet;
import org.apache.storm.task.GeneralTopologyContext;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.task.WorkerTopologyContext;
import org.junit.jupiter.api.Test;

/** No method of Storm's contexts may show what only exists because of seats: a new one fails here until it was looked at. */
class ContextTest {
    /** Of values that the constructor was given, all of them as they would be without seats. */
    private static final Set<String> LOGICAL = Set.of("getStormId()", "getRawTopology()", "getComponentId(int)",
        "getComponentStreams(String)", "getComponentTasks(String)", "getComponentOutputFields(String,String)",
        "getComponentOutputFields(GlobalStreamId)", "getSources(String)", "getTargets(String)", "toJSONString()",
        "getTaskToComponent()", "getComponentIds()", "getComponentCommon(String)", "maxTopologyMessageTimeout()", "getConf()",
        "doSanityCheck()", "getThisWorkerPort()", "getCodeDir()", "getPIDDir()");
    /** Of one task, made of those above, or its own. */
    private static final Set<String> OF_A_TASK = Set.of("setAllSubscribedState(ISubscribedState)",
        "setSubscribedState(String,ISubscribedState)", "setSubscribedState(String,String,ISubscribedState)",
        "getBlobToLastKnownVersion()", "getThisTaskId()", "getThisComponentId()", "getThisOutputFields(String)",
        "getThisOutputFieldsForStreams()", "getThisStreams()", "getThisTaskIndex()", "getThisInputFields()",
        "getThisSources()", "getThisTargets()", "setTaskData(String,Object)", "getTaskData(String)", "getHooks()",
        "registerMetric(String,IReducer,int)", "registerMetric(String,ICombiner,int)", "getRegisteredMetricByName(String)");
    /** Storm gives a task's context none of these. */
    private static final Set<String> NOT_OF_A_TASK = Set.of("getAssignmentId()", "getTaskToNodePort()", "getNodeToHost()");

    private static Set<String> open(Class<?> own, Class<?>... storms) {
        Set<String> found = new TreeSet<>();
        for (Class<?> each : storms) {
            for (Method method : each.getDeclaredMethods()) {
                if (Modifier.isPublic(method.getModifiers()) && !method.isBridge() && !Modifier.isStatic(method.getModifiers())) {
                    found.add(name(method));
                }
            }
        }
        for (Method method : own.getDeclaredMethods()) {
            found.remove(name(method));
        }
        return found;
    }

    private static String name(Method method) {
        String[] types = Arrays.stream(method.getParameterTypes()).map(Class::getSimpleName).toArray(String[]::new);
        return method.getName() + "(" + String.join(",", types) + ")";
    }

    @Test
    void everyMethodOfATasksContextIsOverriddenOrShowsNothingOfSeats() {
        Set<String> open = open(SeatContext.class, TopologyContext.class, WorkerTopologyContext.class, GeneralTopologyContext.class);
        open.removeAll(LOGICAL);
        open.removeAll(OF_A_TASK);
        open.removeAll(NOT_OF_A_TASK);
        assertEquals(Set.of(), open);
    }

    @Test
    void everyMethodOfAWorkersContextIsOverriddenOrShowsNothingOfSeats() {
        Set<String> open = open(LogicalContext.class, WorkerTopologyContext.class, GeneralTopologyContext.class);
        open.removeAll(LOGICAL);
        assertEquals(Set.of(), open);
    }
}
