import type { AbrLadder } from '#api/channels.ts'
import { isolated } from '../../words/complete.ts'
import { words } from '../../words/words.ts'

const text = words.ladder

/** What viewers get of a ladder, in one line: its renditions, which of them is copied, and whether there is audio alone. */
export function variantsOf({ video, audioOnly }: Pick<AbrLadder, 'video' | 'audioOnly'>): string {
  const renditions = video.map(({ label, copy }) => (copy ? text.copied(label) : isolated(label)))
  return [...renditions, ...(audioOnly ? [text.audioOnly] : [])].join(', ')
}
