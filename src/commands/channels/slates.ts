import { err, ok, type Result } from '../../base/result.ts'
import { toSlateRecord } from '../../core/channels/channel.ts'
import type { SlateRecord } from '../../core/channels/channelSchema.ts'
import { type ChannelFailure, noSuch, refusal } from '../../core/channels/errors.ts'
import type { UploadedSlate } from '../../core/channels/runs/transcoder.ts'
import {
  refuseSlateMedia,
  SLATE_MAX_BYTES,
  SLATE_MEDIA_TYPES,
  type SlateFacts,
  type SlateMedia,
  type SlateMediaType,
  slateLimitsOf,
  slateMediaTypeOf,
  slateProblemText,
} from '../../core/channels/slate.ts'
import type { Channel } from '../../core/channels/types.ts'
import type { NewSlate, Tx } from '../../store/store.ts'
import type { Actor, ChannelContext } from '../context.ts'
import { type ChannelResult, isId, newId, recordChanges, withChannel } from './channelCommand.ts'

/**
 * Sets what viewers of a channel see while there is no broadcast. It is decoded first, so that what is stored can be shown.
 * @param declared the media type that the client says; null: it says none
 */
export async function putSlate(
  ctx: ChannelContext,
  actor: Actor,
  channelId: string,
  media: Uint8Array,
  declared: string | null,
): ChannelResult<SlateRecord> {
  const channel = isId(channelId) ? await ctx.store.read.channels.get(actor.accountId, channelId) : undefined
  if (!channel) return err(noSuch('channel', channelId))
  const checked = await checkMedia(ctx, media, declared)
  if (!checked.ok) return checked
  const createdAtMs = ctx.clock.now()
  const facts: SlateFacts = { ...checked.value, id: newId(ctx, 'sl'), bytes: media.length, createdAtMs }
  const made = await setSlate(ctx, actor, channelId, async () => ok({ facts, media }))
  return made.ok ? ok(toSlateRecord(facts)) : made
}

/** Removes the slate of a channel. Viewers who see it get nothing more. */
export function deleteSlate(ctx: ChannelContext, actor: Actor, channelId: string): ChannelResult<true> {
  return setSlate(ctx, actor, channelId, async ({ slate }) => (slate === null ? err(noSlate(channelId)) : ok(null)))
}

/** The file of a slate, with its facts. */
export async function readSlate(
  ctx: ChannelContext,
  accountId: string,
  channelId: string,
): ChannelResult<{ facts: SlateFacts; media: Uint8Array }> {
  const channel = isId(channelId) ? await ctx.store.read.channels.get(accountId, channelId) : undefined
  if (!channel) return err(noSuch('channel', channelId))
  const media = channel.slate === null ? undefined : await ctx.store.read.slates.media(channel.slate.id)
  return channel.slate && media ? ok({ facts: channel.slate, media }) : err(noSlate(channelId))
}

/** The slate that an engine of a channel shows. Null: the channel has another one, or none. */
export async function loadSlate(
  ctx: Pick<ChannelContext, 'store'>,
  { accountId, channelId, slateId }: { accountId: string; channelId: string; slateId: string },
): Promise<UploadedSlate | null> {
  const { channels, slates } = ctx.store.read
  const media = (await channels.get(accountId, channelId))?.slate
  const bytes = media?.id === slateId ? await slates.media(slateId) : undefined
  return media && bytes ? { media, bytes } : null
}

async function checkMedia(ctx: ChannelContext, media: Uint8Array, declared: string | null): ChannelResult<SlateMedia> {
  if (media.length > SLATE_MAX_BYTES)
    return err(refusal('too_large', `A slate may have at most ${SLATE_MAX_BYTES} bytes; this one has ${media.length}`))
  const type = typeOf(media, declared)
  if (!type.ok) return type
  const limits = slateLimitsOf(type.value)
  const found = await ctx.probeSlate(media, limits)
  const problem = found.ok ? refuseSlateMedia({ mediaType: type.value, ...found.value }, limits) : found.error
  if (found.ok && problem === null) return ok({ mediaType: type.value, ...found.value })
  const code = problem?.code === 'unavailable' ? 'unavailable' : 'invalid_body'
  return err(refusal(code, problem ? slateProblemText(problem, limits) : ''))
}

/** The content decides. A client that says another type has made a mistake. */
function typeOf(media: Uint8Array, declared: string | null): Result<SlateMediaType, ChannelFailure> {
  const type = slateMediaTypeOf(media)
  const allowed = `a slate is a JPEG, a PNG or an MP4 (${SLATE_MEDIA_TYPES.join(', ')})`
  if (type === null) return err(refusal('unsupported_media_type', `The content is none of these: ${allowed}`))
  if (declared === null || declared === type) return ok(type)
  return err(refusal('unsupported_media_type', `The content is ${type}, and Content-Type says ${declared}; ${allowed}`))
}

async function setSlate(
  ctx: ChannelContext,
  actor: Actor,
  channelId: string,
  next: (channel: Channel) => ChannelResult<NewSlate | null>,
): ChannelResult<true> {
  const changed = await ctx.store.transaction((tx) =>
    withChannel(tx, actor.accountId, channelId, async (channel): ChannelResult<true> => {
      const slate = await next(channel)
      if (!slate.ok) return slate
      await write(ctx, tx, actor, channel, slate.value)
      return ok(true)
    }),
  )
  if (changed.ok) ctx.channelChanged({ kind: 'channel', what: 'updated', accountId: actor.accountId, id: channelId })
  return changed
}

async function write(
  ctx: ChannelContext,
  tx: Tx,
  actor: Actor,
  channel: Channel,
  slate: NewSlate | null,
): Promise<void> {
  const { id, name } = channel
  await tx.channels.setSlate(id, slate)
  const states = { before: { slate: channel.slate }, after: { slate: slate?.facts ?? null } }
  await recordChanges(ctx, tx, actor, { object: { type: 'channel', id, name }, verb: 'updated', ...states })
}

const noSlate = (channelId: string): ChannelFailure =>
  refusal('not_found', `The channel ${channelId} has no slate; set one with PUT /v2/channels/${channelId}/slate`)
