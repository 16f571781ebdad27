import { type IdPrefix, isTimeOrderedId } from '../../base/ids.ts'
import { err, ok, type Result } from '../../base/result.ts'
import type { ChannelFailure } from '../../core/channels/errors.ts'
import type { Failure, FieldErrors } from '../../core/errors.ts'
import type { ChangedSetting, ProvisionItem } from '../../core/provisioning/types.ts'
import type { Provisioned, Tx } from '../../store/store.ts'
import type { Actor, Context } from '../context.ts'

/** What went wrong with one thing: by setting, '' for the thing itself. */
export type ItemProblems = readonly { readonly path: string; readonly message: string }[]

/** What was changed or deleted, by id, of which caches must forget what a decision meanwhile has read. */
export interface Touched {
  readonly tokens: Set<number>
  readonly accounts: Set<string>
}

/** The context and the transaction in which everything is applied. */
export interface Provisioning {
  readonly ctx: Context
  readonly tx: Tx
  readonly actor: Actor
  readonly touched: Touched
  /** What earlier files made, as it was before. */
  readonly rows: readonly Provisioned[]
  /** Delete what earlier files made and these do not name. */
  readonly prune: boolean
}

/** What is, or would be, done with a part of a thing that no file names any more. */
export interface PartChange {
  /** Within the thing. */
  readonly path: string
  readonly verb: 'delete' | 'left'
}

/** How things of one kind are found, made, changed and deleted. Everything goes through the commands of the API. */
export interface ProvisionedKind {
  /** What the record of this id lacks of the settings in the file; null: there is none. */
  compare(within: Provisioning, id: string, item: ProvisionItem): Promise<readonly ChangedSetting[] | null>
  /** Returns the id. */
  create(within: Provisioning, item: ProvisionItem): Promise<Result<string, ItemProblems>>
  update(
    within: Provisioning,
    id: string,
    item: ProvisionItem,
    changed: readonly ChangedSetting[],
  ): Promise<Result<unknown, ItemProblems>>
  /** Succeeds if there is none. */
  delete(within: Provisioning, id: string): Promise<Result<unknown, ItemProblems>>
  /** Called last for each thing in a file. Absent: things of this kind have no parts of their own. */
  settleParts?(
    within: Provisioning,
    id: string,
    item: ProvisionItem,
  ): Promise<Result<readonly PartChange[], ItemProblems>>
  /** There is no thing of this id any more. */
  forgetParts?(within: Provisioning, id: string): Promise<void>
}

/** The refusal of a command of either interface. */
type Refusal = Failure | ChannelFailure

export function problemsOf(refusal: Refusal): ItemProblems {
  if (!('data' in refusal)) return refusal.details?.length ? refusal.details : [{ path: '', message: refusal.message }]
  const { errors } = refusal.data as { errors?: FieldErrors }
  return errors === undefined ? [{ path: '', message: Object.values(refusal.data).join('; ') }] : problemsByPath(errors)
}

export const problemsByPath = (errors: FieldErrors): ItemProblems =>
  Object.entries(errors).flatMap(([path, sentences]) => sentences.map((message) => ({ path, message })))

/** The id that a file chose for a thing, which others may know; undefined: it gets one. */
export function chosenId(prefix: IdPrefix, id: unknown): Result<string | undefined, ItemProblems> {
  if (id === undefined) return ok(id)
  const isFit = typeof id === 'string' && id.startsWith(`${prefix}_`) && isTimeOrderedId(id.slice(prefix.length + 1))
  return isFit ? ok(id) : err([{ path: 'id', message: `is no id of Sluice: ${prefix}_ and 22 characters` }])
}

const TOKEN_ID_MAX = 2_147_483_647

/** The same of a token. Self-signed tokens name it. */
export function chosenTokenId(id: unknown): Result<number | undefined, ItemProblems> {
  if (id === undefined) return ok(id)
  const isFit = typeof id === 'number' && Number.isInteger(id) && id >= 1 && id <= TOKEN_ID_MAX
  return isFit ? ok(id) : err([{ path: 'id', message: `must be a whole number from 1 to ${TOKEN_ID_MAX}` }])
}

/** Changed settings as the body of an update. */
export const patchOf = (changed: readonly ChangedSetting[]): Record<string, unknown> =>
  Object.fromEntries(changed.map(({ setting, to }) => [setting, to]))

/** That a secret is another one, without showing it. */
export const secretChange = (setting: string): ChangedSetting => ({ setting, from: '(hidden)', to: '(hidden)' })

export const isGone = ({ code }: Refusal): boolean => code === 'not_found'

/** What a command gave; its refusal as the problems of an item. */
export const withProblems = <T>(done: Result<T, Refusal>): Result<T, ItemProblems> =>
  done.ok ? done : err(problemsOf(done.error))

/** The same of a creation: the id. */
export const created = (made: Result<{ readonly id: string | number }, Refusal>): Result<string, ItemProblems> =>
  made.ok ? ok(String(made.value.id)) : withProblems(made)

/** The same of a deletion, which succeeds if there is nothing. */
export const deleted = (done: Result<unknown, Refusal>): Result<unknown, ItemProblems> =>
  !done.ok && isGone(done.error) ? ok(true) : withProblems(done)
