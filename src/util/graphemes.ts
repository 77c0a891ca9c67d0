/** What a reader sees as one character: a letter with its accents, a family of emoji. */

/** The segmenter is made when it is first needed: that takes a tenth of the time in which a short command is done. */
export const graphemesOf = (
  (made?: Intl.Segmenter) =>
  (text: string): Intl.Segments =>
    (made ??= new Intl.Segmenter()).segment(text)
)();
