import { linkTo } from '../../router.ts'

/** The first cell of a list of streams: its name, which leads to its page, and the token that it came with. */
export const StreamName = ({ streamName, note }: { readonly streamName: string; readonly note: string }) => (
  <>
    <a class="row" href={linkTo(`/streams/${encodeURIComponent(streamName)}`)}>
      {streamName}
    </a>
    <span class="sub">{note}</span>
  </>
)
