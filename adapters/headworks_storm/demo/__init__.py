"""The demo `headworks demo storm`: a real topology on a real cluster, placed by Storm, then by several schedulers."""
