import type { ComponentChildren } from 'preact'
import { linkTo } from '../../router.ts'

interface StreamNameProps {
  readonly streamName: string
  readonly note: string
  /** Beside the name. */
  readonly children?: ComponentChildren
}

/** The first cell of a list of streams: its name, which leads to its page, and the token that it came with. */
export const StreamName = ({ streamName, note, children }: StreamNameProps) => (
  <>
    <a class="row clamp" title={streamName} href={linkTo(`/streams/${encodeURIComponent(streamName)}`)}>
      {streamName}
    </a>
    <span class="sub clamp" title={note}>
      {note}
    </span>
    {children}
  </>
)
