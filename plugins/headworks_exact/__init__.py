"""Proven optima by CP-SAT: least traffic between nodes, or highest throughput.

Traffic is an integer program over columns. A column is a pattern, the counts by class of interchangeable tasks
(`classes`) that one node can hold (`patterns`); the master problem (`placement`) chooses how many nodes of each group
hold which pattern, as in cutting stock. Patterns are listed in full where they are few (`patterns`), and priced by
dynamic programming in rounds of column generation where they are many (`pricing`). What is left out of an integer
program has to be proved useless: the linear relaxation, solved by GLOP (`pricing`), gives dual prices, and a column
whose reduced cost exceeds the gap to the target is in no solution that meets it (reduced cost fixing). The columns that
remain are combined by the branch and bound of CP-SAT (`solver`), with a known placement as its hint: the best that
other schedulers answer (`search`), or a greedy one (`start`). Where the columns are too many for the integer program,
the best by reduced cost are searched and the bound stays that of the relaxation. Hard constraints leave patterns out,
and those on racks are rows of the master program (`node_rules`, `pattern_constraints`). More classes of tasks than
`placement.CLASSES` are not searched. Their traffic is bounded by topology (`by_topology`, `parts`): nodes are knapsacks
of parts of topologies, and column generation finds their prices.

Throughput at a fixed rate is an integer program over numbers of tasks on machines (`feasibility`), and bisection
(`throughput`) finds the highest rate. The linear relaxation over all spreads of a component over the machines
(`any_number`) bounds it for any numbers of tasks, and its prices leave numbers out of the program. Bounds are tightened
by each target or rate that is proved to be out of reach.
"""
