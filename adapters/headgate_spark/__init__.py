"""The Spark adapter: watch a PySpark application, place its tasks on executors, and run Spark locally."""
