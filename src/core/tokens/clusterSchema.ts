import { Type } from 'typebox'
import { clusterName } from '../clusters.ts'
import { notBuilt } from '../validation/notBuilt.ts'
import { flag, orNull } from './schemaParts.ts'
import { closed } from '../validation/closed.ts'

/** The fields of tokens that name regions of nodes, which hosted services call clusters. */

const CLUSTERS_MAX = 100

const CASCADE_TEXT =
  'The regions whose nodes show its streams, beside that of the publisher. A broadcast takes them from the token that started it. ' +
  'Off: as the account says.'

/** The clusters of a cascade: regions of nodes, or `all`. */
export const cascadeClusters = () =>
  Type.Optional(
    orNull(
      Type.Array(clusterName(1), { maxItems: CLUSTERS_MAX }),
      'Regions of nodes; `all`, null or absent: every one. Ignored while it is off.',
    ),
  )

export const geoCascade = () =>
  Type.Optional(
    orNull(Type.Object({ isEnabled: flag('Null: off.'), clusters: cascadeClusters() }, closed), CASCADE_TEXT),
  )

/** The same in records. */
export const shownCascade = () =>
  Type.Object(
    { isEnabled: Type.Boolean(), clusters: Type.Array(Type.String()) },
    { ...closed, description: CASCADE_TEXT },
  )

const CLUSTER_TEXT =
  'The region whose nodes take its publishers: those over WHIP are sent on to one, others are refused and told why. `auto`: all nodes do.'

export const originCluster = () =>
  Type.Optional(orNull(clusterName(0), `${CLUSTER_TEXT} Empty, the default: as the account says.`))

/** The same in records. */
export const shownCluster = () =>
  Type.String({ description: `${CLUSTER_TEXT} Empty: as the account says, see \`effectiveSettings\`.` })

/** Of subscribe tokens. */
export const noOriginCluster = () => notBuilt('viewers may come to every region', ['', 'auto'])
