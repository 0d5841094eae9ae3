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
{{- if and .Values.persistence.enabled (gt (int .Values.replicas) 1) }}{{ fail "persistence allows one replica: a directory has one gateway" }}{{ end -}}
{{- if lt (int .Values.terminationGracePeriodSeconds) (add (int .Values.drainSeconds) 45) }}{{ fail "terminationGracePeriodSeconds must be 45 above drainSeconds, or streams are cut" }}{{ end -}}
{{- end }}
