#!/bin/sh
# Runs after the package is installed or upgraded. A gateway that runs is restarted with the new program; nothing is
# started that was not running.
if [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then
	systemctl daemon-reload || true
	systemctl try-restart ridethrough.service || true
fi
