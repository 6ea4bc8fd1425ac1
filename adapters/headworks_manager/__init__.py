"""The priority manager of Chakraborty's thesis: priority indications and triggers of topologies in an SQL database."""
