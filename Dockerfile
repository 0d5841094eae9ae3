# The image: the program, the certificates of authorities, the time zones, and nothing else. scripts/image makes the
# context, with the program of a release, so building it needs no network:
#
#	scripts/release --snapshot && docker buildx build dist/image
FROM scratch
ARG TARGETARCH
COPY ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY zoneinfo.zip /usr/share/zoneinfo.zip
COPY LICENSE THIRD_PARTY_NOTICES.txt /usr/share/doc/ridethrough/
COPY --chown=65532:65532 data /data
COPY ${TARGETARCH}/ridethrough /ridethrough

# /etc/ridethrough/config.yaml is read if it is there. An address that other machines reach needs a token.
ENV ZONEINFO=/usr/share/zoneinfo.zip XDG_CONFIG_HOME=/etc RIDETHROUGH_DATA=/data RIDETHROUGH_LISTEN=:8484 HOME=/data TMPDIR=/data
USER 65532:65532
EXPOSE 8484
VOLUME /data
HEALTHCHECK --interval=10s --timeout=5s --start-period=5s CMD ["/ridethrough", "status", "--live"]
ENTRYPOINT ["/ridethrough"]
CMD ["serve"]
