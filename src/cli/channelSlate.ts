import { readFile, stat } from 'node:fs/promises'
import { newFileProblem } from '../base/errorCode.ts'
import { writeNewFile } from '../base/files.ts'
import { err, ok, type Result } from '../base/result.ts'
import { deleteSlate, putSlate, readSlate } from '../commands/channels/slates.ts'
import { toSlateRecord } from '../core/channels/channel.ts'
import type { SlateRecord } from '../core/channels/channelSchema.ts'
import { SLATE_MAX_BYTES } from '../core/channels/slate.ts'
import { failure } from '../core/errors.ts'
import { command, type CommandOutcome } from './command.ts'
import { CHANNEL_ID, textFlag, toggleFlag } from './flag.ts'
import { type Columns, record, yesNo } from './listing.ts'
import { fromChannelFailure, usage } from './refusal.ts'
import { type AccountScope, withAccount } from './session.ts'

interface SlateFlags {
  set: string | undefined
  save: string | undefined
  remove: boolean
}

const SHOWN: Columns<SlateRecord> = {
  id: ['key', ({ id }) => id],
  mediaType: ['text', ({ mediaType }) => mediaType],
  size: ['bytes', ({ size }) => size],
  width: ['text', ({ width }) => width],
  height: ['text', ({ height }) => height],
  duration: ['seconds', ({ duration }) => duration],
  hasAudio: ['text', ({ hasAudio }) => (hasAudio === undefined ? undefined : yesNo(hasAudio))],
  createdAt: ['text', ({ createdAt }) => createdAt],
}

/** Shows, sets, saves or removes the slate of a channel. */
export const slateCommand = command({
  path: ['channel', 'slate'],
  summary: 'Show or change the image or clip that viewers of a channel see while there is no broadcast',
  detail:
    'Without a flag it shows what the slate is. A slate is a JPEG or PNG of at most 4096 pixels on each side, or an MP4 ' +
    'of at most 20 seconds and 1920 pixels on each side; files have at most 8 MiB. A running server shows a change ' +
    'within a few seconds.',
  args: { id: CHANNEL_ID },
  flags: {
    set: textFlag('FILE', 'Check this file, and make it the slate.'),
    save: textFlag('FILE', 'Write the slate into this file, which must not exist.'),
    remove: toggleFlag('Remove the slate.'),
  },
  examples: [
    'sluice channel slate ch_1BvTL3PCGW4dXdKwCqFkRe --set back-soon.png',
    'sluice channel slate $CHANNEL --remove',
  ],
  run: (call) => {
    const { set, save, remove } = call.flags
    const chosen = [set !== undefined, save !== undefined, remove].filter(Boolean)
    if (chosen.length > 1) return Promise.resolve(err(usage('use only one of --set, --save and --remove')))
    return withAccount(call, (scope) => answerOf(scope, call.args.id, call.flags))
  },
})

function answerOf(scope: AccountScope, id: string, { set, save, remove }: SlateFlags): CommandOutcome {
  if (set !== undefined) return setSlate(scope, id, set)
  return remove ? removeSlate(scope, id) : showSlate(scope, id, save)
}

async function setSlate({ ctx, actor }: AccountScope, id: string, file: string): CommandOutcome {
  const media = await read(file)
  if (!media.ok) return err(usage(`--set: ${media.error}`))
  const made = await putSlate(ctx, actor, id, media.value, null)
  if (!made.ok) return err(fromChannelFailure(made.error))
  return ok({ json: made.value, text: record(SHOWN, made.value) })
}

/** A larger file is read no further than is needed to refuse it. */
async function read(file: string): Promise<Result<Buffer, string>> {
  try {
    const { size } = await stat(file)
    return size > SLATE_MAX_BYTES ? err(`${file} has more than ${SLATE_MAX_BYTES} bytes`) : ok(await readFile(file))
  } catch (error) {
    return err((error as Error).message)
  }
}

async function removeSlate({ ctx, actor }: AccountScope, id: string): CommandOutcome {
  const gone = await deleteSlate(ctx, actor, id)
  if (!gone.ok) return err(fromChannelFailure(gone.error))
  return ok({ json: true, text: '', hint: `The slate of channel ${id} was removed.` })
}

async function showSlate({ ctx, accountId }: AccountScope, id: string, save: string | undefined): CommandOutcome {
  const found = await readSlate(ctx, accountId, id)
  if (!found.ok) return err(fromChannelFailure(found.error))
  const json = toSlateRecord(found.value.facts)
  if (save === undefined) return ok({ json, text: record(SHOWN, json) })
  try {
    await writeNewFile(save, found.value.media)
  } catch (error) {
    return err(failure('conflict', newFileProblem(error, save)))
  }
  return ok({ json, text: '', hint: `The slate is in ${save}.` })
}
