/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The number of files in each file system, and the group of its root (CSI-90). */
#include "modelled-private.h"

/* For a claim's own number, if the driver names no time. kubernetes#130398: 17 million files in
 * 455 s */
#define PER_FILE (25 * SIM_US)
/* The longest walk: any longer one would not end within a run, either. */
#define LONGEST_WALK (365 * 24 * SIM_HOUR)

static int64_t
bounded(CsiFiles files, int64_t n_files)
{
    return MIN(n_files, LONGEST_WALK / MAX(files.per_file, files.per_label));
}

void
modelled_files_begin(const CsiModelledDriver *self, BackendVolume *volume, CsiFiles files)
{
    const CsiModelledOptions *options = &self->options;

    files.per_file = options->per_file > 0 ? options->per_file : PER_FILE;
    files.per_label = options->per_label > 0 ? options->per_label : files.per_file;
    files.count = bounded(files, files.count);
    volume->files = files;
    volume->n_files = files.count > 0 ? files.count : bounded(files, options->n_files);
}

/* The first pod has written its files by now. */
CsiFiles
modelled_files_of_copy(const BackendVolume *source)
{
    CsiFiles files = source->files;

    files.count = source->is_in_use ? source->n_files : files.count;
    files.work = CSI_FILES_IDLE;
    return files;
}

void
modelled_files_fill(BackendVolume *volume)
{
    volume->files.count = MAX(volume->files.count, volume->n_files);
}

gboolean
csi_modelled_driver_set_files(CsiModelledDriver *self, const char *volume_id, int64_t n_files)
{
    BackendVolume *volume = modelled_find_volume(self, volume_id);

    if (volume == NULL)
        return FALSE;
    volume->n_files = bounded(volume->files, n_files);
    if (volume->files.count > 0)
        volume->files.count = volume->n_files;
    return TRUE;
}

CsiFiles *
csi_modelled_driver_files(const CsiModelledDriver *self, const char *volume_id)
{
    BackendVolume *volume = modelled_find_volume(self, volume_id);

    return volume == NULL || volume->n_files == 0 ? NULL : &volume->files;
}
