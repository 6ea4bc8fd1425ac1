"""Reports of runs: rows, reasons, seconds, changes, and thresholds that were broken."""
