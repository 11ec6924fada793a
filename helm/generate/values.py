"""What the chart's values may be; their defaults and descriptions are in `values.yaml`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from queue_agent.config.agent import AgentConfig

Object = dict[str, Any]
"""A piece of a manifest, which goes into it as it is; Kubernetes itself checks it."""

Strings = dict[str, str]
Name = Annotated[str, Field(pattern=r"^([a-z0-9]([-a-z0-9.]*[a-z0-9])?)?$", max_length=253)]
"""Of an object of Kubernetes; empty where the chart chooses one."""

Fullname = Annotated[str, Field(pattern=r"^([a-z]([-a-z0-9]*[a-z0-9])?)?$", max_length=43)]
"""With `-register-addresses` it is the name of a Job, which is a label of its pods: at most 63 characters."""

Key = Annotated[str, Field(pattern=r"^[-._a-zA-Z0-9]+$")]
"""Of a Secret or ConfigMap; the name of the mounted file, too."""

PrometheusDuration = Annotated[str, Field(pattern=r"^(0|([0-9]+(ms|[smhdwy]))+)$")]


class Values(BaseModel):
    """Base of all sections: unknown keys are refused."""

    model_config = ConfigDict(extra="forbid")


class Image(Values):
    repository: Annotated[str, Field(min_length=1)]
    tag: str
    digest: Annotated[str, Field(pattern=r"^(sha256:[0-9a-f]{64})?$")]
    pullPolicy: Literal["Always", "IfNotPresent", "Never"]


class Token(Values):
    existingSecret: Annotated[Name, Field(min_length=1)]
    key: Key = "YT_TOKEN"


class Authority(Values):
    existingSecret: Name = ""
    configMap: Name = ""
    key: Key = "ca.crt"


class HttpTls(Values):
    existingSecret: Name
    certificateKey: Key
    privateKeyKey: Key
    authorityKey: Key | Literal[""]


class Job(Values):
    enabled: bool
    annotations: Strings
    resources: Object


class RegisterAddresses(Job):
    clusters: list[str]


class Service(Values):
    type: Literal["ClusterIP", "NodePort", "LoadBalancer"]
    annotations: Strings
    labels: Strings


class ServiceAccount(Values):
    create: bool
    name: Name
    annotations: Strings


class Probe(Values):
    periodSeconds: Annotated[int, Field(ge=1)]
    timeoutSeconds: Annotated[int, Field(ge=1)]
    failureThreshold: Annotated[int, Field(ge=1)]


class Probes(Values):
    startup: Probe
    liveness: Probe
    readiness: Probe


class DisruptionBudget(Values):
    enabled: bool
    maxUnavailable: int | Annotated[str, Field(pattern=r"^[0-9]+%$")]


class Autoscaling(Values):
    enabled: bool
    minReplicas: Annotated[int, Field(ge=1)]
    maxReplicas: Annotated[int, Field(ge=1)]
    targetCPUUtilizationPercentage: Annotated[int, Field(ge=1)]


class Egress(Values):
    enabled: bool
    proxies: list[Object]
    proxyPorts: list[Annotated[int, Field(ge=1, le=65535)]]
    extra: list[Object]


class NetworkPolicy(Values):
    enabled: bool
    httpFrom: list[Object]
    metricsFrom: list[Object]
    rpcFrom: list[Object]
    egress: Egress


class Monitor(Values):
    enabled: bool
    kind: Literal["ServiceMonitor", "PodMonitor"]
    namespace: Name
    labels: Strings
    annotations: Strings
    path: Annotated[str, Field(pattern="^/")]
    cluster: str
    interval: PrometheusDuration | Literal[""]
    scrapeTimeout: PrometheusDuration | Literal[""]
    honorLabels: bool
    scheme: Literal["", "http", "https"]
    tlsConfig: Object
    authorization: Object
    relabelings: list[Object]
    metricRelabelings: list[Object]


class Rule(Values):
    """Differences of one alert from what the chart brings."""

    enabled: bool = True
    threshold: float | None = None
    expr: str = ""
    for_: Annotated[PrometheusDuration | None, Field(alias="for")] = None
    keepFiringFor: PrometheusDuration | None = None
    severity: str = ""
    labels: Strings = {}
    annotations: Strings = {}


class Rules(Values):
    enabled: bool
    namespace: Name
    labels: Strings
    annotations: Strings
    runbookBaseUrl: str
    ruleLabels: Strings
    alerts: dict[str, Rule]


class Dashboards(Values):
    enabled: bool
    namespace: Name
    labels: Strings
    annotations: Strings


class ChartValues(Values):
    """All of them."""

    nameOverride: Fullname
    fullnameOverride: Fullname
    commonLabels: Strings
    commonAnnotations: Strings
    clusterDomain: Annotated[str, Field(min_length=1)]
    image: Image
    imagePullSecrets: list[Object]
    replicas: Annotated[int, Field(ge=0)]
    config: AgentConfig
    tokens: dict[str, Token]
    authorities: dict[str, Authority]
    httpTls: HttpTls
    initState: Job
    registerAddresses: RegisterAddresses
    uiDashboards: Job
    service: Service
    serviceAccount: ServiceAccount
    resources: Object
    probes: Probes
    terminationGracePeriodSeconds: Annotated[int, Field(ge=1)]
    podSecurityContext: Object
    securityContext: Object
    updateStrategy: Object
    podDisruptionBudget: DisruptionBudget
    autoscaling: Autoscaling
    spread: Literal["none", "soft", "hard"]
    topologySpreadConstraints: list[Object]
    affinity: Object
    nodeSelector: Strings
    tolerations: list[Object]
    priorityClassName: str
    networkPolicy: NetworkPolicy
    monitor: Monitor
    rules: Rules
    dashboards: Dashboards
    podAnnotations: Strings
    podLabels: Strings
    extraArgs: list[str]
    extraEnv: list[Object]
    extraEnvFrom: list[Object]
    secretRefs: list[Name]
    extraVolumes: list[Object]
    extraVolumeMounts: list[Object]
    initContainers: list[Object]
    extraContainers: list[Object]
    extraObjects: list[Object]
    hostAliases: list[Object]
    dnsPolicy: Literal["", "Default", "ClusterFirst", "ClusterFirstWithHostNet", "None"]
    dnsConfig: Object
