"""What tests share: functions, networks, independent oracles, strategies."""
