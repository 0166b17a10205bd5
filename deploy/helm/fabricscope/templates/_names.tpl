{{- define "fabricscope.fullname" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "fabricscope.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "fabricscope.labels" -}}
{{ include "fabricscope.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- /* The stages that the settings ask for, as stages_of in fabricscope/running/children.py; separated by spaces. */}}
{{- define "fabricscope.stages" -}}
ingest analytics
{{- if (.Values.settings.alerting | default dict).receivers }} alerts{{ end }}
{{- if .Values.settings.remote_write }} export{{ end }}
{{- if .Values.settings.recording }} recorder{{ end }} api
{{- end }}

{{- /* The port of a stage's pages. Takes a list of the root and the name of the stage. */}}
{{- define "fabricscope.port" -}}
{{- $root := index . 0 }}{{ $stage := index . 1 }}
{{- if eq $stage "api" }}{{ $root.Values.settings.api.port }}
{{- else }}{{ index $root.Values.settings.global.metrics_ports $stage }}{{ end }}
{{- end }}

{{- /* What pods of a stage are selected by, beside the release: with the bus embedded one pod has them all. */}}
{{- define "fabricscope.component" -}}
{{- $root := index . 0 }}{{ $stage := index . 1 }}
{{- if eq $root.Values.settings.bus.kind "kafka" }}{{ $stage }}{{ else }}all{{ end }}
{{- end }}
