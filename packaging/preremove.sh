#!/bin/sh
# Runs before the package is removed. An upgrade (deb: "upgrade", rpm: 1) leaves the service as it is.
case "$1" in
upgrade | 1) exit 0 ;;
esac
if [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then
	systemctl disable --now ridethrough.service || true
fi
