import { Type, type TSchema } from 'typebox'

/** `null` means the default on create, and no change on update. */
export const orNull = <T extends TSchema>(schema: T, description: string) =>
  Type.Union([schema, Type.Null()], { description })

export const flag = (description: string) => Type.Optional(orNull(Type.Boolean(), description))

const CLUSTERS_MAX = 100

/** The clusters of a cascade. Their names mean nothing here. */
export const cascadeClusters = () =>
  Type.Optional(
    orNull(
      Type.Array(Type.String({ minLength: 1, maxLength: 64 }), { maxItems: CLUSTERS_MAX }),
      'Null or absent: all. Ignored while it is off.',
    ),
  )

/** The refusal of a cascade to no cluster, as hosted services write it. */
export const NO_CLUSTERS = 'Geo cascade Clusters list cannot be empty'
