"""A broker of Apache Kafka on this machine."""
