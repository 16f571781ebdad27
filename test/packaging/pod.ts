import { readFileSync } from 'node:fs'
import { parseAllDocuments, stringify } from 'yaml'
import type { Ports } from './media.ts'

interface StatefulSet {
  readonly metadata: { readonly name: string }
  readonly spec: {
    readonly template: { readonly metadata: object; readonly spec: PodSpec }
    readonly volumeClaimTemplates: readonly { readonly metadata: { readonly name: string } }[]
  }
}

interface PodSpec {
  readonly volumes: readonly object[]
  readonly containers: readonly [Container]
}

interface Container {
  readonly env: readonly { readonly name: string; readonly valueFrom?: { readonly fieldRef?: object } }[]
  readonly livenessProbe: Probe
  readonly readinessProbe: Probe
  readonly ports: readonly { readonly name: string }[]
}

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string }
}

/** The first pod of our StatefulSet, for `podman play kube`. */
export interface Pod {
  readonly name: string
  /** The pod in YAML. */
  readonly manifest: string
  /** The paths that a kubelet asks for at the port `http`: whether the container lives, and whether it is ready. */
  readonly probes: readonly string[]
}

/**
 * Makes a pod of the template of the StatefulSet, as a cluster does: podman 4.3 plays pods. The template stays as it is,
 * except for what podman cannot do or a test must not: podman does not know the address of its node, probes with a curl that
 * the image does not have, and opens every port of a pod at the machine, so that each gets a free one.
 */
export function podOf(image: string, ports: Ports): Pod {
  const text = readFileSync(new URL('../../packaging/kubernetes/sluice.yaml', import.meta.url), 'utf8')
  const set = parseAllDocuments(text)[0]?.toJS() as StatefulSet
  const { metadata, spec } = set.spec.template
  const { livenessProbe, ...container } = spec.containers[0]
  const name = `${set.metadata.name}-0`
  const claims = set.spec.volumeClaimTemplates.map((claim) => ({
    name: claim.metadata.name,
    persistentVolumeClaim: { claimName: `${claim.metadata.name}-${name}` },
  }))
  const env = container.env.map((one) => (one.valueFrom?.fieldRef ? { name: one.name, value: '127.0.0.1' } : one))
  const open = container.ports.map((port) => ({ ...port, hostPort: hostPortOf(port.name, ports) }))
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...metadata, name },
    spec: { ...spec, containers: [{ ...container, image, env, ports: open }], volumes: [...spec.volumes, ...claims] },
  }
  const probes = [livenessProbe, container.readinessProbe].filter(({ httpGet }) => httpGet.port === 'http')
  return { name, manifest: stringify(pod), probes: probes.map(({ httpGet }) => httpGet.path) }
}

function hostPortOf(name: string, { http, rtmp, srt, webrtc }: Ports): number {
  const known = new Map([
    ['http', http],
    ['rtmp', rtmp],
    ['srt', srt],
    ['media-udp', webrtc],
    ['media-tcp', webrtc],
  ])
  const port = known.get(name)
  if (port === undefined) throw new Error(`the manifest has a port ${name}, which the test does not know`)
  return port
}
