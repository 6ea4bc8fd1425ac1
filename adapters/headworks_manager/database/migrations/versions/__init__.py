"""One module a version, in order of `down_revision`."""
