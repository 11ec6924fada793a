{{- define "queue-agent.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 43 | trimSuffix "-" -}}
{{- end -}}

{{- define "queue-agent.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride -}}
{{- else if contains (include "queue-agent.name" .) .Release.Name -}}
{{- .Release.Name | trunc 43 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "queue-agent.name" .) | trunc 43 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "queue-agent.peers" -}}
{{- include "queue-agent.fullname" . }}-peers
{{- end -}}

{{- define "queue-agent.selectorLabels" -}}
app.kubernetes.io/name: {{ include "queue-agent.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: agent
{{- end -}}

{{/* Labels of all objects; commonLabels cannot change those that select pods. */}}
{{- define "queue-agent.labels" -}}
{{- $own := dict
      "helm.sh/chart" (printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_")
      "app.kubernetes.io/version" .Chart.AppVersion
      "app.kubernetes.io/part-of" "ytsaurus"
      "app.kubernetes.io/managed-by" .Release.Service -}}
{{- $selector := include "queue-agent.selectorLabels" . | fromYaml -}}
{{- merge $selector .Values.commonLabels $own | toYaml -}}
{{- end -}}

{{/* name, namespace, labels and annotations: a list of the root, the name and, if need be, further labels, annotations and a namespace. */}}
{{- define "queue-agent.metadata" -}}
{{- $root := index . 0 -}}
{{- $more := dict -}}
{{- if gt (len .) 2 }}{{ $more = index . 2 }}{{ end -}}
name: {{ index . 1 }}
namespace: {{ default $root.Release.Namespace $more.namespace }}
labels:
  {{- merge (dict) (default dict $more.labels) (include "queue-agent.labels" $root | fromYaml) | toYaml | nindent 2 }}
{{- with merge (dict) (default dict $more.annotations) $root.Values.commonAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "queue-agent.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "queue-agent.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "queue-agent.image" -}}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) -}}
{{- with .Values.image.digest }}@{{ . }}{{ end -}}
{{- end -}}

{{- define "queue-agent.httpPort" -}}
{{- dig "http" "port" 10030 .Values.config -}}
{{- end -}}

{{/* Of the metrics; nothing if `http` serves them. */}}
{{- define "queue-agent.metricsPort" -}}
{{- with dig "metrics" "listen" nil .Values.config }}{{ .port }}{{ end -}}
{{- end -}}

{{- define "queue-agent.metricsPortName" -}}
{{- ternary "metrics" "http" (not (empty (include "queue-agent.metricsPort" .))) -}}
{{- end -}}

{{- define "queue-agent.httpScheme" -}}
{{- $own := dig "http" "tls" "" .Values.config -}}
{{- ternary "http" "https" (and (empty .Values.httpTls.existingSecret) (empty $own)) -}}
{{- end -}}

{{- define "queue-agent.rpcPort" -}}
{{- dig "rpc" "port" 9030 .Values.config -}}
{{- end -}}

{{/* How many agents there always are. */}}
{{- define "queue-agent.leastReplicas" -}}
{{- ternary .Values.autoscaling.minReplicas .Values.replicas .Values.autoscaling.enabled -}}
{{- end -}}

{{/* How many agents there shall be now; nothing where that is no number of ours. */}}
{{- define "queue-agent.runningReplicas" -}}
{{- with lookup "apps/v1" "StatefulSet" .Release.Namespace (include "queue-agent.fullname" .) -}}
{{- .spec.replicas -}}
{{- end -}}
{{- end -}}

{{/* Of the pod with a number; a list of the root and the number, which may be a word that Kubernetes replaces. */}}
{{- define "queue-agent.podName" -}}
{{- $root := index . 0 -}}
{{- printf "%s.%s.%s.svc.%s" (index . 1) (include "queue-agent.peers" $root) $root.Release.Namespace $root.Values.clusterDomain -}}
{{- end -}}

{{/* The RPC addresses of the agents, a JSON list. */}}
{{- define "queue-agent.addresses" -}}
{{- $addresses := list -}}
{{- range until (include "queue-agent.leastReplicas" . | int) -}}
{{- $pod := printf "%s-%d" (include "queue-agent.fullname" $) . -}}
{{- $addresses = append $addresses (printf "%s:%s" (include "queue-agent.podName" (list $ $pod)) (include "queue-agent.rpcPort" $)) -}}
{{- end -}}
{{- dict "addresses" $addresses | toJson -}}
{{- end -}}

{{/* The agent's configuration; JSON, for Helm writes large numbers of YAML in a way that is not read as a number. */}}
{{- define "queue-agent.config" -}}
{{- $config := deepCopy .Values.config -}}
{{- if not $config.clusters -}}
{{- fail "config.clusters: say at least one cluster: {NAME: {proxy: http://...}}" -}}
{{- end -}}
{{- $state := default dict $config.state -}}
{{- if not $state.cluster -}}
{{- if gt (len $config.clusters) 1 -}}
{{- fail "config.state.cluster: say which of config.clusters holds the state tables" -}}
{{- end -}}
{{- $_ := set $state "cluster" (keys $config.clusters | first | default "") -}}
{{- end -}}
{{- $_ := set $config "state" $state -}}
{{- if not (hasKey $config.clusters $state.cluster) -}}
{{- fail (printf "config.state.cluster: %s is not in config.clusters" $state.cluster) -}}
{{- end -}}
{{- range $name, $token := .Values.tokens -}}
{{- if not (hasKey $config.clusters $name) -}}
{{- fail (printf "tokens: %s is not in config.clusters" $name) -}}
{{- end -}}
{{- $_ := set (index $config.clusters $name) "token_file" (printf "/etc/queue-agent/tokens/%s/%s" $name (default "YT_TOKEN" $token.key)) -}}
{{- end -}}
{{- range $name, $authority := .Values.authorities -}}
{{- if not (hasKey $config.clusters $name) -}}
{{- fail (printf "authorities: %s is not in config.clusters" $name) -}}
{{- end -}}
{{- if eq (empty $authority.configMap) (empty $authority.existingSecret) -}}
{{- fail (printf "authorities.%s: say either configMap or existingSecret" $name) -}}
{{- end -}}
{{- $_ := set (index $config.clusters $name) "ca_file" (printf "/etc/queue-agent/authorities/%s/%s" $name (default "ca.crt" $authority.key)) -}}
{{- end -}}
{{- if .Values.httpTls.existingSecret -}}
{{- $http := default dict $config.http -}}
{{- if $http.tls -}}
{{- fail "httpTls: config.http.tls says already where the certificate is" -}}
{{- end -}}
{{- $_ := set $http "tls" (dict "certificate_file" (printf "/etc/queue-agent/http-tls/%s" .Values.httpTls.certificateKey) "key_file" (printf "/etc/queue-agent/http-tls/%s" .Values.httpTls.privateKeyKey)) -}}
{{- $_ := set $config "http" $http -}}
{{- end -}}
{{- range $server := list "rpc" "http" -}}
{{- if eq (dig $server "port" 1 $config | int) 0 -}}
{{- fail (printf "config.%s.port: must not be 0 here, where others have to know it" $server) -}}
{{- end -}}
{{- end -}}
{{- if eq (include "queue-agent.metricsPort" .) "0" -}}
{{- fail "config.metrics.listen.port: must not be 0 here, where others have to know it" -}}
{{- end -}}
{{- $config | toPrettyJson -}}
{{- end -}}

{{/* Annotations of a hook: a list of its moments and its weight. What has failed tells why, and does not stay. */}}
{{- define "queue-agent.hook" -}}
helm.sh/hook: {{ index . 0 }}
helm.sh/hook-weight: {{ index . 1 | quote }}
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded,hook-failed
helm.sh/hook-output-log-policy: hook-failed
{{- end -}}

{{/* The configuration of a Job that runs before other objects are there: a list of the root, the name and the hook's moments. */}}
{{- define "queue-agent.hookConfig" -}}
{{- $root := index . 0 -}}
apiVersion: v1
kind: ConfigMap
metadata:
  {{- $hook := include "queue-agent.hook" (list (index . 2) "-10") | fromYaml }}
  {{- include "queue-agent.metadata" (list $root (index . 1) (dict "annotations" $hook)) | nindent 2 }}
data:
  agent.yaml: |
    {{- include "queue-agent.config" $root | nindent 4 }}
{{- end -}}

{{- define "queue-agent.stateCluster" -}}
{{- (include "queue-agent.config" . | fromJson).state.cluster -}}
{{- end -}}

{{/* Volumes with the configuration, credentials and /tmp: a list of the root and the name of the ConfigMap. */}}
{{- define "queue-agent.volumes" -}}
{{- $root := index . 0 -}}
- name: config
  configMap:
    name: {{ index . 1 }}
- name: tmp
  emptyDir: {}
{{- with $root.Values.httpTls }}
{{- if .existingSecret }}
- name: http-tls
  secret:
    secretName: {{ .existingSecret }}
    # For the agent's group, which is the volume's (fsGroup).
    defaultMode: 0440
{{- end }}
{{- end }}
{{- range $number, $name := keys $root.Values.tokens | sortAlpha }}
{{- $token := index $root.Values.tokens $name }}
- name: token-{{ $number }}
  secret:
    secretName: {{ $token.existingSecret }}
    # For the agent's group, which is the volume's (fsGroup).
    defaultMode: 0440
    items:
      - key: {{ default "YT_TOKEN" $token.key }}
        path: {{ default "YT_TOKEN" $token.key }}
{{- end }}
{{- range $number, $name := keys $root.Values.authorities | sortAlpha }}
{{- $authority := index $root.Values.authorities $name }}
- name: authority-{{ $number }}
  {{- if $authority.configMap }}
  configMap:
    name: {{ $authority.configMap }}
  {{- else }}
  secret:
    secretName: {{ $authority.existingSecret }}
  {{- end }}
    items:
      - key: {{ default "ca.crt" $authority.key }}
        path: {{ default "ca.crt" $authority.key }}
{{- end }}
{{- end -}}

{{- define "queue-agent.volumeMounts" -}}
- name: config
  mountPath: /etc/queue-agent/config
  readOnly: true
- name: tmp
  mountPath: /tmp
{{- if .Values.httpTls.existingSecret }}
- name: http-tls
  mountPath: /etc/queue-agent/http-tls
  readOnly: true
{{- end }}
{{- range $number, $name := keys .Values.tokens | sortAlpha }}
- name: token-{{ $number }}
  mountPath: /etc/queue-agent/tokens/{{ $name }}
  readOnly: true
{{- end }}
{{- range $number, $name := keys .Values.authorities | sortAlpha }}
- name: authority-{{ $number }}
  mountPath: /etc/queue-agent/authorities/{{ $name }}
  readOnly: true
{{- end }}
{{- end -}}

{{/* What all pods of the chart have in common. */}}
{{- define "queue-agent.podSpec" -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  {{- toYaml .Values.podSecurityContext | nindent 2 }}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.hostAliases }}
hostAliases:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.dnsPolicy }}
dnsPolicy: {{ . }}
{{- end }}
{{- with .Values.dnsConfig }}
dnsConfig:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end -}}

{{- define "queue-agent.envFrom" -}}
{{- range .Values.secretRefs }}
- secretRef:
    name: {{ . }}
{{- end }}
{{- with .Values.extraEnvFrom }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Labels of pods that are no agents, which services must not choose. */}}
{{- define "queue-agent.jobLabels" -}}
{{- merge (dict "app.kubernetes.io/component" "job") (include "queue-agent.labels" . | fromYaml) | toYaml -}}
{{- end -}}

{{/* A Job beside the agents: a dict of root, name, values (of the Job), hooks, weight, configMap, and args. */}}
{{- define "queue-agent.job" -}}
{{- $root := .root -}}
{{- $name := printf "%s-%s" (include "queue-agent.fullname" $root) .name -}}
apiVersion: batch/v1
kind: Job
metadata:
  {{- $hook := include "queue-agent.hook" (list .hooks .weight) | fromYaml }}
  {{- include "queue-agent.metadata" (list $root $name (dict "labels" (dict "app.kubernetes.io/component" "job") "annotations" $hook)) | nindent 2 }}
spec:
  backoffLimit: 3
  # Should Helm be cut off before it removes the Job.
  ttlSecondsAfterFinished: 3600
  template:
    metadata:
      labels:
        {{- include "queue-agent.jobLabels" $root | nindent 8 }}
      {{- with merge (dict) .values.annotations $root.Values.commonAnnotations }}
      annotations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
    spec:
      {{- include "queue-agent.podSpec" $root | nindent 6 }}
      restartPolicy: Never
      containers:
        - name: {{ .name }}
          image: {{ include "queue-agent.image" $root }}
          imagePullPolicy: {{ $root.Values.image.pullPolicy }}
          args:
            {{- toYaml .args | nindent 12 }}
          {{- with $root.Values.extraEnv }}
          env:
            {{- toYaml . | nindent 12 }}
          {{- end }}
          {{- with include "queue-agent.envFrom" $root | trim }}
          envFrom:
            {{- . | nindent 12 }}
          {{- end }}
          terminationMessagePolicy: FallbackToLogsOnError
          resources:
            {{- toYaml .values.resources | nindent 12 }}
          securityContext:
            {{- toYaml $root.Values.securityContext | nindent 12 }}
          volumeMounts:
            {{- include "queue-agent.volumeMounts" $root | nindent 12 }}
      volumes:
        {{- include "queue-agent.volumes" (list $root .configMap) | nindent 8 }}
{{- end -}}
