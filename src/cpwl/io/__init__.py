"""Files and objects of other programs, in and out: one chapter for each format, with its reader and its writer."""
