"""The place of the use cases: a Storm cluster, a Kafka broker, the priority manager and the topologies."""
