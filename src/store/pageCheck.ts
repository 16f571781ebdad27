/** What became of a look at every page of the database. `large`: that would take too long. */
export type PageCheck =
  | { readonly state: 'sound' | 'large' }
  /** In the words of the database. */
  | { readonly state: 'damaged'; readonly problem: string }
