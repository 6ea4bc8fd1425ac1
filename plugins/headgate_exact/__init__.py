"""Proven optima by CP-SAT: least traffic between nodes, or highest throughput.

Both objectives are integer programs over columns. For traffic a column is a pattern, the counts by class of
interchangeable tasks (`classes`) that one node can hold (`patterns`); the master problem (`placement`) chooses how many
nodes of each group hold which pattern, as in cutting stock. For throughput a column is one spread of a component over
the machines (`columns`); at a fixed rate one column of each component is chosen, and bisection (`throughput`) finds the
highest rate. Columns are listed in full and not generated in rounds, so what is left out has to be proved useless: the
linear relaxation, solved by GLOP (`pricing`, `columns`), gives dual prices, and a column whose reduced cost exceeds the
gap to the target is in no solution that meets it (reduced cost fixing). The columns that remain are combined by meeting
in the middle (`meet_in_the_middle`) where only CPU counts, else by the branch and bound of CP-SAT (`solver`), with a
greedy placement as its hint (`start`). Bounds are those of the relaxations (`relaxation`, `pricing`), tightened by each
target or rate that is proved to be out of reach. Where there are too many columns to list, nothing is searched or
proved for traffic, and throughput is searched by counts of tasks.
"""
