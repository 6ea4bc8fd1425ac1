"""The driver JVM of a classic session: reached, its session, its listeners."""
