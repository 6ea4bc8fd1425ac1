"""Raw samples of any engine become knowledge that schedulers plan from: profiles, traffic, demand, drift, health."""
