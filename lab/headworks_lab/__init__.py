"""The laboratory of Headworks: experiments, reproductions of printed figures, sweeps and benchmarks."""
