"""The demo `headworks demo priority`: use case 1 of the priority thesis on a real Storm cluster and a real Kafka."""
