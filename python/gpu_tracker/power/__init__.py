"""The programming interface of AIPowerMeter, over gpu-tracker's measurements.

Programs written for ``deep_learning_power_measure.power_measure`` import from here instead.
"""
