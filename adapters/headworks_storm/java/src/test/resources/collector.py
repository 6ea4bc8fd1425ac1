"""A Python process that collects reports of workers: collector.py TOKEN. It prints its port, then each topology."""

import os
import sys
import threading

from headworks_storm.workers.collector import Collector

collector = Collector(token=sys.argv[1]).__enter__()
print(collector.address[1], flush=True)
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
told = 0
while True:
    for each in collector.window(0.05):
        print(each.topology, flush=True)
    if collector.tally.refused > told:
        told = collector.tally.refused
        print("refused", flush=True)
