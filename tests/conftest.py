"""Settings of every test."""

from hypothesis import HealthCheck, settings

settings.register_profile("orglab", suppress_health_check=[HealthCheck.too_slow], deadline=None)
settings.load_profile("orglab")  # a busy machine is no failure
