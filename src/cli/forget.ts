import { err, ok } from '../base/result.ts'
import { forgetViewer } from '../commands/viewers/forget.ts'
import { command } from './command.ts'
import { textFlag, toggleFlag } from './flag.ts'
import { fields } from './print.ts'
import { usage } from './refusal.ts'
import { withAccount } from './session.ts'

/** What to do about what is left; empty when nothing is. */
function leftNote({ sessions, usage: rows }: { readonly sessions: number; readonly usage: number }): string {
  const open = `Sessions that are open and stay: ${sessions}. End them, and run this again five minutes later.`
  const unfinished = `Rows of usage that a server has not finished yet: ${rows}. Run this again in five minutes.`
  return sessions > 0 ? open : rows > 0 ? unfinished : ''
}

/** Deletes what is stored of a viewer. */
export const forgetCommand = command({
  path: ['forget'],
  summary: 'Delete, or make anonymous, what is stored of a viewer',
  detail: [
    'By address: sessions lose what they have of the viewer; rows of the access log are deleted; a bound address becomes a place',
    'that nothing matches. By tracking id: the same for sessions, and its bytes join those without a tracking id. Sessions that are',
    'open stay: end them first. docs/guides/privacy.md says what is stored.',
  ].join('\n'),
  flags: {
    address: textFlag('ADDRESS', 'The IPv4 or IPv6 address of the viewer.'),
    'tracking-id': textFlag('ID', 'The tracking id of the viewer.'),
    'dry-run': toggleFlag('Change nothing; print how much there is.'),
  },
  examples: ['sluice forget --address 203.0.113.9 --dry-run', 'sluice forget --tracking-id customer-17 --json'],
  run: async (call) => {
    const { address, 'tracking-id': trackingId, 'dry-run': isCheck } = call.flags
    if ((address === undefined) === (trackingId === undefined)) {
      return err(usage('give either --address or --tracking-id'))
    }
    return withAccount(call, async ({ ctx, actor }) => {
      const viewer = address === undefined ? { trackingId: trackingId ?? '' } : { address }
      const done = await forgetViewer(ctx, actor, viewer, isCheck)
      if (!done.ok) return done
      const { found, left } = done.value
      const note = isCheck ? '' : leftNote(left)
      return ok({ json: { found, left }, text: fields(found), ...(note === '' ? {} : { note }) })
    })
  },
})
