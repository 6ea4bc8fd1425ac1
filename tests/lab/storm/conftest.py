"""The clusters that the tests of this folder share."""

from storm_fixtures import asking, cluster, empty, java, many_files, ports, seat_storm, words  # noqa: F401
