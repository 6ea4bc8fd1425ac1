"""Proven optima by CP-SAT: least traffic between nodes, or highest throughput.

Both objectives are integer programs over columns. For traffic a column is a pattern, the counts by class of
interchangeable tasks (`classes`) that one node can hold (`patterns`); the master problem (`placement`) chooses how many
nodes of each group hold which pattern, as in cutting stock. For throughput a column is one spread of a component over
the machines (`columns`); at a fixed rate one column of each component is chosen, and bisection (`throughput`) finds the
highest rate. Patterns are listed in full where they are few (`patterns`), and priced by dynamic programming in rounds
of column generation where they are many (`pricing`); spreads are listed as far as there is room for them. What is left
out of an integer program has to be proved useless: the linear relaxation, solved by GLOP (`pricing`, `columns`), gives
dual prices, and a column whose reduced cost exceeds the gap to the target is in no solution that meets it (reduced cost
fixing). The columns that remain are combined by meeting in the middle (`meet_in_the_middle`) where only CPU counts,
else by the branch and bound of CP-SAT (`solver`), with a known placement as its hint: the best that other schedulers
answer (`search`), or a greedy one (`start`). Bounds are those of the relaxations (`pricing`,
`any_number`), tightened by each target or rate that is proved to be out of reach. Where the columns are too many for
the integer program, the best by reduced cost are searched and the bound stays that of the relaxation; throughput is
then searched by counts of tasks. Hard constraints leave patterns out, and those on racks are rows of the master program
(`node_rules`, `pattern_constraints`). More classes of tasks than `placement.CLASSES` are not searched. Their traffic is
bounded by topology (`by_topology`, `parts`): nodes are knapsacks of parts of topologies, and column generation finds
their prices.
"""
