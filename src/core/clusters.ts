import { Type } from 'typebox'
import { isObject } from '../base/objects.ts'
import type { Result } from '../base/result.ts'
import { type BodyReader, readShape } from './validation/bodyReader.ts'
import { Problems, shown } from './validation/problems.ts'
import type { FieldErrors } from './errors.ts'

/** Every region: hosted services call the nearest one `auto`. */
export const CLUSTER = 'auto'

/** Every region, where several may be named. */
export const ALL_CLUSTERS = 'all'

/** As of `server.region`. */
const NAME = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/i
const NAME_MAX = 64

/** The name of a region, or of all. @param minLength 0: empty leaves the choice to the account */
export const clusterName = (minLength: 0 | 1) => Type.String({ minLength, maxLength: NAME_MAX })

/** What a client may choose as the default cluster. */
export const DefaultCluster = Type.Object(
  { defaultCluster: clusterName(1) },
  {
    $id: 'DefaultCluster',
    additionalProperties: false,
    description: 'The cluster of publish tokens without an `originCluster` of their own: `auto`, or a region of nodes.',
    examples: [{ defaultCluster: CLUSTER }],
  },
)

/** Parses the choice of the default cluster. @param regions those that there are */
export function readDefaultCluster(body: unknown, regions: readonly string[]): Result<string, FieldErrors> {
  const problems = new Problems()
  const reader = readShape(DefaultCluster, body, problems)
  checkCluster(reader, 'defaultCluster', regions)
  return problems.settle(reader.value('defaultCluster') ?? CLUSTER)
}

/** Fields and parameters that name a cluster. */
interface ClusterFields {
  originCluster?: string | null
  updateOriginCluster?: string | null
  defaultCluster?: string | null
  cluster?: string | null
}

/** Adds a problem if a field names a region that there is not. Empty and `auto` name none. */
export function checkCluster(
  body: BodyReader<ClusterFields>,
  name: keyof ClusterFields,
  regions: readonly string[],
): void {
  const cluster = body.value(name) ?? ''
  if (cluster !== '') checkName(body.problems, body.at + name, cluster, CLUSTER, regions)
}

function checkName(problems: Problems, path: string, name: string, every: string, regions: readonly string[]): void {
  if (name === every || regions.includes(name)) return
  const others = regions.length === 0 ? ', as no node has a region' : ` or a region of nodes (${regions.join(', ')})`
  problems.add(path, `must be ${every}${others}, not ${shown(name)}`)
}

/** Part of bodies: the clusters that media may go to. */
interface CascadeBody {
  isEnabled?: boolean | null
  clusters?: readonly string[] | null
}

/** The refusal of a cascade to no cluster, as hosted services write it. */
export const NO_CLUSTERS = 'Geo cascade Clusters list cannot be empty'

/**
 * The clusters of a cascade; null: it is off. One that is on and names none has all.
 * @param regions those that it may name; empty: no node has a region, and it may name those of the service that its client comes from
 */
export function readCascade(body: BodyReader<CascadeBody>, regions: readonly string[]): readonly string[] | null {
  if (body.value('isEnabled') !== true) return null
  const names = body.items('clusters')
  if (body.value('clusters')?.length === 0) body.problems.add(`${body.at}clusters`, NO_CLUSTERS)
  for (const { at, item } of names) {
    if (regions.length > 0) checkName(body.problems, at, item, ALL_CLUSTERS, regions)
    else if (!NAME.test(item))
      body.problems.add(at, `must be ${ALL_CLUSTERS} or a name of letters, digits and -, not ${shown(item)}`)
  }
  return body.names('clusters') ? [...new Set(names.map(({ item }) => item))] : [ALL_CLUSTERS]
}

/** The same as an object of the API. */
export const cascadeRecord = (clusters: readonly string[] | null) => ({
  isEnabled: clusters !== null,
  clusters: [...(clusters ?? [])],
})

/** The fields of bodies that name a region, in lower case. */
const FIELDS = ['origincluster', 'updateorigincluster', 'defaultcluster', 'clusters']

/** Whether a body names a region, right or wrong. Then the regions are needed to check it. */
export const namesRegion = (body: unknown): boolean =>
  isObject(body) &&
  [body, ...Object.values(body).filter(isObject)].some((part) =>
    Object.entries(part).some(([name, value]) => FIELDS.includes(name.toLowerCase()) && isRegion(value)),
  )

const isRegion = (value: unknown): boolean =>
  Array.isArray(value) ? value.some(isRegion) : !['', CLUSTER, ALL_CLUSTERS, null].includes(value as string | null)

/**
 * The region whose nodes take the publishers of a token; null: all nodes do.
 * @param cluster of the token; empty: that of its account
 */
export function regionOf(cluster: string, account: { readonly defaultCluster: string }): string | null {
  const effective = cluster || account.defaultCluster
  return effective === CLUSTER ? null : effective
}

/**
 * The regions that the media of a token may go to; null: all.
 * @param clusters of the token; null: those of its account
 */
export function mediaRegionsOf(
  clusters: readonly string[] | null,
  account: { readonly geoCascade: readonly string[] | null },
): readonly string[] | null {
  const effective = clusters ?? account.geoCascade
  return effective === null || effective.includes(ALL_CLUSTERS) ? null : effective
}

/** A feed that goes to these regions only; null: to all. */
export interface Regional {
  readonly regions: readonly string[] | null
}

/** Whether all of these feeds may go to a region. */
export const mayGoTo = (region: string, feeds: readonly Regional[]): boolean =>
  feeds.every(({ regions }) => regions === null || regions.includes(region))

/** The regions that all of these feeds may go to; null: all. */
export const regionsOfAll = (feeds: readonly Regional[]): readonly string[] | null =>
  feeds.reduce<readonly string[] | null>(
    (all, { regions }) => (regions === null ? all : (all?.filter((one) => regions.includes(one)) ?? regions)),
    null,
  )
