/** What a part of the page is about. */
export interface NodeProps {
  /** The id of a node; undefined: the one that answers. */
  readonly node?: string | undefined
}
