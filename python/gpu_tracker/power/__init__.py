"""AIPowerMeter's programming interface, with measurements of gpu-tracker.

It replaces ``deep_learning_power_measure.power_measure`` in imports.
"""
