"""Tables by hour: rows cleaned and summed up on Spark, and the folder that keeps them."""
