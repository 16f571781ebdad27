/**
 * The sections of a provisioning file, in the order in which their things are made: later ones name earlier ones. Things are
 * deleted in the reverse order.
 */
export const PROVISION_KINDS = [
  'accountDefaults',
  'publishTokens',
  'subscribeTokens',
  'pulls',
  'webhooks',
  'abrLadders',
  'channels',
  'schedulers',
  'channelWebhooks',
] as const
export type ProvisionKind = (typeof PROVISION_KINDS)[number]

/** The sections that are one thing themselves, without names. */
export const SINGLE_KINDS: ReadonlySet<ProvisionKind> = new Set(['accountDefaults'])

/** One thing that a file describes. Its kind and name identify it, whatever else changes. */
export interface ProvisionItem {
  readonly kind: ProvisionKind
  /** Empty: its kind has no other. */
  readonly name: string
  /** The settings, as in the body of the API's create, and those of `carried.ts`. */
  readonly body: Readonly<Record<string, unknown>>
  /** The value of a token or the secret of a webhook; null: Sluice makes one. */
  readonly secret: string | null
  /** Settings with values from the environment or from files. They are not shown. */
  readonly hidden: ReadonlySet<string>
  /** The file and line of a setting, such as `streams[0].streamName`; of the thing itself for ''. */
  locationOf(path: string): string
}

export interface ProvisionProblem {
  /** `FILE:LINE` */
  readonly location: string
  readonly message: string
}

export interface ChangedSetting {
  readonly setting: string
  readonly from: unknown
  readonly to: unknown
}

/** What is, or would be, done with one thing. `left`: it is in no file any more, and stays. */
export interface ProvisionChange {
  readonly kind: ProvisionKind
  readonly name: string
  readonly verb: 'create' | 'update' | 'delete' | 'left'
  readonly settings: readonly ChangedSetting[]
}
