{{- /* The container of a stage. Takes a list of the root and the name of the stage. */}}
{{- define "fabricscope.container" -}}
{{- $root := index . 0 }}{{ $stage := index . 1 }}
{{- $values := $root.Values }}
{{- $own := index $values.stages $stage }}
{{- $fullname := include "fabricscope.fullname" $root }}
{{- $api := $values.settings.api }}
name: {{ $stage }}
image: "{{ $values.image.repository }}:{{ $values.image.tag | default $root.Chart.AppVersion }}"
imagePullPolicy: {{ $values.image.pullPolicy }}
args: [{{ $stage }}, --config, /etc/fabricscope/settings/fabricscope.yaml]
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
env:
  {{- if eq $stage "api" }}
  - name: POD_IP
    valueFrom: {fieldRef: {fieldPath: status.podIP}}
  {{- /* Probes and Prometheus ask for the pod by its address. */}}
  {{- $service := printf "%s-api" $fullname }}
  {{- $hosts := list "localhost" "127.0.0.1" "[::1]" "$(POD_IP)" "[$(POD_IP)]" $service }}
  {{- $hosts = concat $hosts (list (printf "%s.%s" $service $root.Release.Namespace) (printf "%s.%s.svc" $service $root.Release.Namespace)) $values.apiHosts }}
  - name: FABRICSCOPE__API__ALLOWED_HOSTS
    value: {{ toJson $hosts | quote }}
  {{- end }}
  {{- range $name, $value := $own.env }}
  - name: {{ $name }}
    value: {{ $value | quote }}
  {{- end }}
ports:
  - name: {{ $stage }}
    containerPort: {{ include "fabricscope.port" (list $root $stage) }}
{{- $scheme := ternary "HTTPS" "HTTP" (and (eq $stage "api") (not (empty $api.tls_cert_file))) }}
startupProbe: # numba compiles at the first start on a volume
  httpGet: {path: /-/healthy, port: {{ $stage }}, scheme: {{ $scheme }}}
  periodSeconds: 5
  failureThreshold: 60
livenessProbe:
  httpGet: {path: /-/healthy, port: {{ $stage }}, scheme: {{ $scheme }}}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  httpGet: {path: /-/ready, port: {{ $stage }}, scheme: {{ $scheme }}}
  periodSeconds: 10
  timeoutSeconds: 5
resources: {{- toYaml $own.resources | nindent 2 }}
volumeMounts:
  - {name: data, mountPath: /data}
  - {name: tmp, mountPath: /tmp}
  - {name: settings, mountPath: /etc/fabricscope/settings, readOnly: true}
  - {name: files, mountPath: /etc/fabricscope/files, readOnly: true}
  {{- range $name, $secret := merge dict $own.secrets $values.secrets }}
  - {name: {{ $stage }}-{{ $name }}, mountPath: {{ printf "/run/secrets/%s" $name }}, readOnly: true}
  {{- end }}
  {{- if include "fabricscope.records" . }}
  - {name: recordings, mountPath: /recordings, readOnly: {{ eq $stage "api" }}}
  {{- end }}
{{- end }}

{{- /* Not empty when the stage uses the volume of recordings. */}}
{{- define "fabricscope.records" -}}
{{- $values := (index . 0).Values }}{{ $stage := index . 1 }}
{{- if and $values.recordings.enabled (or (eq $stage "recorder") (and (eq $stage "api") $values.settings.api.recordings_dir)) }}yes{{ end }}
{{- end }}

{{- /* A pod that is alone: a StatefulSet starts a new one only when the old one has ended, as a stage must have one
process. Takes a list of the root, the name of the component, its stages, and the size of its volume. */}}
{{- define "fabricscope.statefulset" -}}
{{- $root := index . 0 }}{{ $component := index . 1 }}{{ $stages := index . 2 }}{{ $storage := index . 3 }}
{{- $values := $root.Values }}
{{- $fullname := include "fabricscope.fullname" $root }}
{{- $records := "" }}
{{- range $stages }}
{{- $records = printf "%s%s" $records (include "fabricscope.records" (list $root .)) }}
{{- end }}
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: {{ $fullname }}-{{ $component }}
  labels: {{- include "fabricscope.labels" $root | nindent 4 }}
    app.kubernetes.io/component: {{ $component }}
spec:
  replicas: 1
  serviceName: {{ $fullname }}-{{ first $stages }}
  selector:
    matchLabels: {{- include "fabricscope.selector" $root | nindent 6 }}
      app.kubernetes.io/component: {{ $component }}
  template:
    metadata:
      labels: {{- include "fabricscope.labels" $root | nindent 8 }}
        app.kubernetes.io/component: {{ $component }}
      annotations:
        fabricscope/settings: {{ include "fabricscope.settings" $root | sha256sum }}
        {{- with $values.podAnnotations }}{{ toYaml . | nindent 8 }}{{ end }}
    spec:
      serviceAccountName: {{ $fullname }}
      automountServiceAccountToken: false
      enableServiceLinks: false
      terminationGracePeriodSeconds: 30 # a stage takes up to 25 s to flush
      securityContext:
        runAsNonRoot: true
        runAsUser: 10001
        runAsGroup: 10001
        fsGroup: 10001
        fsGroupChangePolicy: OnRootMismatch
        seccompProfile: {type: RuntimeDefault}
      {{- with $values.imagePullSecrets }}
      imagePullSecrets: {{- toYaml . | nindent 8 }}
      {{- end }}
      containers:
        {{- range $stages }}
        - {{- include "fabricscope.container" (list $root .) | nindent 10 }}
        {{- end }}
      volumes:
        - name: tmp
          emptyDir: {sizeLimit: 64Mi}
        - name: settings
          configMap: {name: {{ $fullname }}-settings}
        - name: files
          configMap: {name: {{ $fullname }}-files}
        {{- range $stage := $stages }}
        {{- range $name, $secret := merge dict (index $values.stages $stage).secrets $values.secrets }}
        - name: {{ $stage }}-{{ $name }}
          secret: {secretName: {{ $secret }}, defaultMode: 0440}
        {{- end }}
        {{- end }}
        {{- if $records }}
        - name: recordings
          persistentVolumeClaim: {claimName: {{ $values.recordings.existingClaim | default (printf "%s-recordings" $fullname) }}}
        {{- end }}
      {{- with $values.nodeSelector }}
      nodeSelector: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $values.tolerations }}
      tolerations: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $values.affinity }}
      affinity: {{- toYaml . | nindent 8 }}
      {{- end }}
  volumeClaimTemplates:
    - metadata:
        name: data
        labels: {{- include "fabricscope.selector" $root | nindent 10 }}
      spec:
        accessModes: [ReadWriteOnce]
        {{- with $values.storageClassName }}
        storageClassName: {{ . }}
        {{- end }}
        resources: {requests: {storage: {{ $storage }}}}
{{- end }}
