{{- define "ridethrough.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 63 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 63 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "ridethrough.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{- define "ridethrough.labels" -}}
{{ include "ridethrough.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "ridethrough.image" -}}
{{- with .Values.image -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end }}
{{- end }}

{{- define "ridethrough.natsSelector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}-nats
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{- define "ridethrough.natsLabels" -}}
{{ include "ridethrough.natsSelector" . }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- /* How the servers reach one another. The kubelet puts the token in its place. */ -}}
{{- define "ridethrough.natsRoutes" -}}
{{- $name := include "ridethrough.name" . -}}
{{- range $i := until (int .Values.nats.servers.replicas) }}{{ if $i }},{{ end }}nats://route:$(NATS_TOKEN)@{{ $name }}-nats-{{ $i }}.{{ $name }}-nats-peers:6222{{ end }}
{{- end }}

{{- /* Where the NATS servers are; "": there are none. The kubelet puts the token in its place. */ -}}
{{- define "ridethrough.nats" -}}
{{- with .Values.nats -}}
{{- if .servers.enabled }}nats://$(NATS_TOKEN)@{{ include "ridethrough.name" $ }}-nats:4222{{ else }}{{ .url }}{{ end }}
{{- end }}
{{- end }}

{{- /* Not empty where there is more than one gateway, now or later. */ -}}
{{- define "ridethrough.several" -}}
{{- if or .Values.autoscaling.enabled (gt (int .Values.replicas) 1) }}several{{ end }}
{{- end }}

{{- define "ridethrough.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (ternary (include "ridethrough.name" .) "default" .Values.serviceAccount.create) }}
{{- end }}

{{- /* The names that clients may send as Host: those of the service, of the ingress, and the values'. */ -}}
{{- define "ridethrough.hosts" -}}
{{- $name := include "ridethrough.name" . -}}
{{- $hosts := list $name (printf "%s.%s" $name .Release.Namespace) (printf "%s.%s.svc" $name .Release.Namespace) (printf "%s.%s.svc.cluster.local" $name .Release.Namespace) -}}
{{- if and .Values.ingress.enabled .Values.ingress.host }}{{ $hosts = append $hosts .Values.ingress.host }}{{ end -}}
{{- concat $hosts .Values.hosts (get .Values.config "hosts" | default list) | join "," }}
{{- end }}

{{- /* The configuration: that of the values, with what other values decide. */ -}}
{{- define "ridethrough.config" -}}
{{- $config := deepCopy .Values.config -}}
{{- if .Values.tls.secret }}{{ $_ := set $config "tls" (dict "cert" "/run/secrets/ridethrough/tls.crt" "key" "/run/secrets/ridethrough/tls.key") }}{{ end -}}
{{- if .Values.tokens.secret }}{{ $_ := set $config "tokens" "/run/secrets/ridethrough/tokens" }}{{ end -}}
{{- toYaml $config }}
{{- end }}

{{- define "ridethrough.check" -}}
{{- if not (or .Values.token.secret .Values.tokens.secret) }}{{ fail "set token.secret or tokens.secret: other machines reach the gateway, so it needs a token" }}{{ end -}}
{{- if and .Values.persistence.enabled (include "ridethrough.several" .) }}{{ fail "persistence allows one replica: a directory has one gateway; several keep what they keep with nats" }}{{ end -}}
{{- if and .Values.persistence.enabled (include "ridethrough.nats" .) }}{{ fail "persistence and nats are two places for the same things: choose one" }}{{ end -}}
{{- if and .Values.nats.url .Values.nats.servers.enabled }}{{ fail "nats.url and nats.servers are two sets of servers: choose one" }}{{ end -}}
{{- if and .Values.nats.servers.enabled (not .Values.nats.servers.token.secret) }}{{ fail "set nats.servers.token.secret: without a token every pod of the cluster could read what gateways keep" }}{{ end -}}
{{- if not (has (int .Values.nats.servers.replicas) (list 1 3 5)) }}{{ fail "nats.servers.replicas must be 1, 3 or 5: of an even number no half is more than a half" }}{{ end -}}
{{- if and .Values.autoscaling.enabled (not (include "ridethrough.nats" .)) }}{{ fail "autoscaling needs nats: without it every new gateway learns of an outage by itself" }}{{ end -}}
{{- if lt (int .Values.terminationGracePeriodSeconds) (add (int .Values.drainSeconds) 45) }}{{ fail "terminationGracePeriodSeconds must be 45 above drainSeconds, or streams are cut" }}{{ end -}}
{{- end }}
