import { EVENTS, type HookKind, type HookType } from './events.ts'
import type { HookSwitches } from './types.ts'

interface WebhookKind {
  /** The switch in requests and records. */
  readonly flag: string
  /** A second name of the switch. */
  readonly alias?: string
  /** What the events tell, in one line. */
  readonly about: string
}

/** The kinds of events that webhooks choose. Types, schemas, the store and the command line derive from this list. */
export const WEBHOOK_KINDS = {
  feeds: { flag: 'isFeedHooks', about: 'A stream began or ceased to be published.' },
  feedHealth: { flag: 'isFeedHealthHooks', about: 'Something is wrong with the media of a stream, or no longer.' },
  recording: {
    flag: 'isRecordingHooks',
    alias: 'isMediaHooks',
    about: 'Recordings: began, complete, failed, deleted.',
  },
  thumbnail: { flag: 'isThumbnailHooks', about: 'Images of live streams.' },
  transcoder: { flag: 'isTranscoderHooks', about: 'Transcoders: started, stopped, failed.' },
  restream: { flag: 'isRestreamHooks', about: 'Targets that media is sent on to: started, ended, failed.' },
  viewerConnection: {
    flag: 'isViewerConnectionHooks',
    about: 'Attempts to view, the first viewer, no more viewers.',
  },
} as const satisfies Record<HookKind, WebhookKind>

type Kind = (typeof WEBHOOK_KINDS)[HookKind]
export type WebhookFlag = Kind['flag'] | Extract<Kind, { alias: string }>['alias']

export const HOOK_KINDS = Object.keys(WEBHOOK_KINDS) as readonly HookKind[]

/** The values of `type` in payloads and queries. */
export const HOOK_TYPES = HOOK_KINDS.filter(
  (kind): kind is HookType => kind === 'thumbnail' || Object.hasOwn(EVENTS, kind),
)

export const NO_HOOKS = Object.fromEntries(HOOK_KINDS.map((kind) => [kind, false])) as HookSwitches

interface WebhookSwitch {
  readonly flag: WebhookFlag
  readonly kind: HookKind
  readonly about: string
}

/** Every switch, in the order of records. */
export const WEBHOOK_SWITCHES = HOOK_KINDS.flatMap((kind) => {
  const { flag, alias, about }: WebhookKind = WEBHOOK_KINDS[kind]
  const plain = { flag, kind, about }
  return alias === undefined
    ? [plain]
    : [
        { ...plain, flag: alias },
        { ...plain, about: `The same switch as ${alias}.` },
      ]
}) as readonly WebhookSwitch[]

/** The names of the switch of a kind. Messages name the first one. */
export function flagsOf(kind: HookKind): readonly WebhookFlag[] {
  const { flag, alias }: WebhookKind = WEBHOOK_KINDS[kind]
  return (alias === undefined ? [flag] : [flag, alias]) as WebhookFlag[]
}
