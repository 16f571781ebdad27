import { updates } from '../../live.ts'
import { Bones, Notice } from '../../parts/notice.tsx'
import { words } from '../../words/words.ts'

/** In the place of what is on the air, until it is known: the server may be away, or refuse to say it. */
export const UnknownStreams = ({ rows }: { readonly rows: number }) =>
  updates.value === 'off' ? <Notice kind="error">{words.frame.noAnswer}</Notice> : <Bones rows={rows} />
