"""D-Storm: dynamic resource-efficient scheduling by multidimensional first fit decreasing."""
